"""What trials use of Horovod, over detcore's own ranks: for where Horovod is not installed."""
