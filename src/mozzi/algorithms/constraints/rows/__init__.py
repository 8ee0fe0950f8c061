"""The equations of closures: of joints, couplings, rolling, laws of time, and of users."""
