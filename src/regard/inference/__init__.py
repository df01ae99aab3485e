"""Models prepared for decoding: eager, incremental, CUDA graphs, int8, CTranslate2."""
