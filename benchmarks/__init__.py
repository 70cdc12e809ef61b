"""For developers: `mjjax bench` with its peers, and limits on the size of compiled programs."""
