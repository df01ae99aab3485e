"""Training of any task: loss, optimizer, steps, loop, resumable state, log, model card."""
