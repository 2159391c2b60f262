//! Whether a build may lack the page. The build script includes this file; here it is only tested.

/// The variable that permits a release build without the page.
pub(crate) const WITHOUT_PAGE: &str = "WAKEFUL_WITHOUT_PAGE";

/// Why a build must stop, if it must: a released program without its page is a mistake that is noticed only
/// after installation. `profile` is Cargo's `PROFILE`, `release` for every profile that inherits from it.
pub(crate) fn missing_page(profile: &str, page: Option<&[u8]>, without_page: Option<&str>) -> Option<String> {
    let has_page = page.is_some_and(|index| !index.is_empty());
    let is_permitted = profile != "release" || without_page == Some("1");
    (!has_page && !is_permitted).then(|| {
        format!("the page is not built (web/dist/index.html): run `make build` or `scripts/web`, or set {WITHOUT_PAGE}=1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_build_without_its_page_is_refused() {
        for page in [None, Some(&b""[..])] {
            let refusal = missing_page("release", page, None).expect("refused");
            assert!(refusal.contains("make build"), "{refusal}");
            assert!(missing_page("release", page, Some("0")).is_some());
        }
        assert_eq!(missing_page("release", Some(b"<!doctype html>"), None), None);
    }

    #[test]
    fn other_builds_need_no_page() {
        assert_eq!(missing_page("debug", None, None), None);
        assert_eq!(missing_page("release", None, Some("1")), None);
    }
}
