// All that needs a model that can be asked, or a run folder: pages that carry their translation do without it.

export { checkpoints } from "regard/live/checkpoint_slider.js";
export { compare } from "regard/live/trace_comparison.js";
export { whatIfDrawer } from "regard/live/what_if_drawer.js";
export { questions } from "regard/live/questions.js";
export { training } from "regard/live/training.js";
export { severalLines, sourceField } from "regard/live/source_field.js";
