"""From-scratch recounts of the picture, and what they find in it."""
