"""What is known of torch and of other libraries: data only."""
