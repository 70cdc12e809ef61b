"""For developers: `mjjax bench` with its peers, and limits of what compiled programs may hold."""
