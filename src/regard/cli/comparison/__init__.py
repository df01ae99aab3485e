"""Commands over several models: trainings that differ in their seed, and systems on one test set."""
