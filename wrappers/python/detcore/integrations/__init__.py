"""Callbacks for training libraries: a module for each, which needs that library."""
