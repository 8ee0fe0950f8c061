"""What a simulation gives back: motions, files of them, what closures and drives exerted."""
