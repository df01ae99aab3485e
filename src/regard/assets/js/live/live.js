// All that needs a model that can be asked, or a run folder: pages that carry their translation do without it.

export { checkpoints } from "regard/live/checkpoints.js";
export { compare } from "regard/live/compare.js";
export { whatIfDrawer } from "regard/live/drawer.js";
export { questions } from "regard/live/questions.js";
export { training } from "regard/live/training.js";
export { severalLines, sourceField } from "regard/live/typing.js";
