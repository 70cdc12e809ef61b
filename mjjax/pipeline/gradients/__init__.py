"""Comparison of derivatives with differences, stage by stage, and what it says about them."""
