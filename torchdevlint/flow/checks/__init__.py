"""What a run looks out for, and records as facts."""
