"""Modules that take the place of packages which are not installed."""
