"""From experiment files to tracked results: configuration, running, writing."""
