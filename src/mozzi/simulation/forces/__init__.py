"""What acts on a mechanism: laws, drives, actuators, springs, dampers, friction and stops."""
