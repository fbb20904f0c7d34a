"""What is made of recorded traffic: short copies, and the calls that a trial must have made."""
