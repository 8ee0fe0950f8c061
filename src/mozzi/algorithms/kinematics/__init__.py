"""Where bodies are and how they move: poses, twists, Jacobians, their derivatives, and back."""
