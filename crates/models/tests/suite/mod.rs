mod answer;
mod failure;
mod fake;
mod hostile;
mod way;
