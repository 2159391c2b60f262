mod answer;
mod failure;
mod fake;
mod hostile;
mod shape;
mod thread;
mod way;
