"""What follows from the kinematics at `qpos0`: inertias, lengths, statistics; length ranges."""
