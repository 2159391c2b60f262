mod bad_input;
mod crash;
mod help;
mod home;
mod postgres;
mod run;
mod sandbox;
mod world;
