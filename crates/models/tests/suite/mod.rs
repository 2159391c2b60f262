mod answer;
mod embedding;
mod failure;
mod fake;
mod hostile;
