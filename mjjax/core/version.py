"""The version of mjjax: in the package's metadata and in files it writes."""

VERSION = "0.1.0"
