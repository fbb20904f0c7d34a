"""Callbacks for training libraries. Each module needs its library."""
