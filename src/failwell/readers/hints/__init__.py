"""What a tool list adds to a failure: the call that tells whether something was done."""
