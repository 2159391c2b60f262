//! A free model, used when the budget does not allow the others.

use super::budget::set;
use super::home_fixture::TestHome;
use super::route::write;

#[test]
fn a_run_whose_free_model_fails_waits_for_budget() {
    let world = TestHome::new();
    let paid = "price: { input: 10, output: 10 }\nmax_output_tokens: 1000\nrounds: [{text: paid}]\nrepeat_last: true\n";
    let dear = world.script_named("dear.yaml", paid);
    let down = "rounds: [{fail: {status: 401}}]\nrepeat_last: true\n";
    let free = world.script_named("free.yaml", down);
    write(
        &world,
        &format!("[model]\ndefault = \"{dear}\"\nfallbacks = [\"{free}\"]\n"),
    );
    assert_eq!(set(&world, &["0.001"]).code, Some(0));
    let said = world.wakeful(&["run", "do it", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "budget_exceeded"),
        "{said:?}"
    );
    let open = world.open_runs();
    let run = world.wakeful(&["runs", "show", &open[0], "--json"]).json();
    assert_eq!(run["parked"]["max"], 1_000, "{run}");
    let again = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(again.code, Some(5), "{again:?}");
    assert_eq!(set(&world, &["1"]).code, Some(0));
    let done = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(done.json()["final_text"], "paid", "{done:?}");
}
