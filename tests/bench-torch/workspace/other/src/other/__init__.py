"""Not in the image."""
