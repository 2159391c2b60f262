//! The program as a person meets it: the real binary on a real home, judged by what it prints and what it
//! left in the world.

mod suite;
