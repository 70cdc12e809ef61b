"""Half lines and what they meet."""
