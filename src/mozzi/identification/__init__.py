"""From measurements to models: which parameters show, which are physical, and logs."""
