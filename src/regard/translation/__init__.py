"""Translation: training, translating, constraints, long text, the model folder."""
