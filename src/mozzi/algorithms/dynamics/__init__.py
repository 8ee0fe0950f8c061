"""Forces and accelerations of trees: inverse, forward, hybrid; mass, Coriolis, energy, operators."""
