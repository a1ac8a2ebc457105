"""From results to what a reader sees; nothing here simulates."""
