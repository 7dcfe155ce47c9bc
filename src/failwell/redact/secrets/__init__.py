"""What a secret looks like, where it stands, and how it is masked."""
