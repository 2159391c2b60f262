mod answer;
mod embedding;
mod failure;
mod fake;
mod hostile;
mod shape;
mod thread;
mod way;
