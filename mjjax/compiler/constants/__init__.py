"""Constants that follow from the kinematics at `qpos0`: inertias, lengths, statistics, ranges."""
