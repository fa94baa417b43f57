//! Tests that output is colored on a terminal only, unless the environment or an option says otherwise.

use crate::terminal::{On, run};
use crate::{ended, failed, in_corpus};

const VALID: &str = "accept/1.2.3/scalar.zt";
const REJECTED: &str = "reject/blob-alignment--v12-72.zt";
/// A file that does not exist. Its error is on standard error, while verdicts are on standard output.
const MISSING: &str = "no-such-file.zt";
/// Arguments with which the command prints on both streams.
const BOTH: [&str; 4] = ["check", VALID, REJECTED, MISSING];

#[test]
fn on_a_terminal() {
    let shown = run(On::Both, &[], BOTH);
    let valid = "\u{1b}[1maccept/1.2.3/scalar.zt\u{1b}[0m: \u{1b}[1m\u{1b}[32mvalid (1.2, ";
    assert!(shown.terminal.starts_with(valid), "{:?}", shown.terminal);
    let rule = "(rule \u{1b}[1m\u{1b}[31mblob-alignment\u{1b}[0m, v1.2 ";
    assert!(shown.terminal.contains(rule), "{:?}", shown.terminal);
    let unsupported = run(On::Both, &[], ["check", "accept/unsupported-dtype--v01-unknown.zt"]);
    let rule = "(rule \u{1b}[1m\u{1b}[33munsupported-dtype\u{1b}[0m, ";
    assert!(unsupported.terminal.contains(rule), "{:?}", unsupported.terminal);
    let listed = run(On::Both, &[], ["ls", VALID, "--also", VALID]).terminal;
    assert!(listed.starts_with("\u{1b}[1maccept/1.2.3/scalar.zt\u{1b}[0m:\n"), "{listed:?}");
    // Output for programs is never colored.
    for form in ["--json", "--sarif"] {
        let document = run(On::Both, &[], ["check", VALID, REJECTED, form, "--color=always"]);
        assert!(!document.terminal.contains('\u{1b}'), "{:?}", document.terminal);
    }
}

#[test]
fn each_stream_by_itself() {
    for jobs in [&[][..], &["--jobs=2"]] {
        let args = || BOTH.iter().chain(jobs);
        for (on, other) in [(On::Output, MISSING), (On::Errors, VALID)] {
            let shown = run(on, &[], args());
            assert!(shown.terminal.contains("\u{1b}[1m"), "{:?}", shown.terminal);
            assert!(shown.pipe.starts_with(other), "{:?}", shown.pipe);
            assert!(!shown.pipe.contains('\u{1b}'), "{:?}", shown.pipe);
        }
        // One process and several processes print the same.
        let alone = run(On::Both, &[], BOTH).terminal;
        assert_eq!(run(On::Both, &[], args()).terminal, alone);
    }
}

#[test]
fn as_the_environment_and_the_option_say() {
    let is_colored = |variables: &[(&str, &str)], option: &[&str]| {
        let args = BOTH.iter().chain(option);
        let shown = run(On::Output, variables, args);
        (shown.terminal.contains('\u{1b}'), shown.pipe.contains('\u{1b}'))
    };
    assert_eq!(is_colored(&[], &[]), (true, false));
    assert_eq!(is_colored(&[("NO_COLOR", "1")], &[]), (false, false));
    assert_eq!(is_colored(&[("NO_COLOR", "")], &[]), (true, false));
    assert_eq!(is_colored(&[("TERM", "dumb")], &[]), (false, false));
    assert_eq!(is_colored(&[("CLICOLOR", "0")], &[]), (false, false));
    assert_eq!(is_colored(&[("CLICOLOR_FORCE", "1")], &[]), (true, true));
    assert_eq!(is_colored(&[], &["--color=never"]), (false, false));
    assert_eq!(is_colored(&[("CLICOLOR_FORCE", "1")], &["--color=never"]), (false, false));
    assert_eq!(is_colored(&[("NO_COLOR", "1")], &["--color=always"]), (true, true));
    assert_eq!(is_colored(&[], &["--color=always", "--jobs=2"]), (true, true));
    assert_eq!(is_colored(&[], &["--color=auto", "--no-sandbox"]), (true, false));
}

#[test]
fn none_in_pipes() {
    let output = in_corpus(&BOTH);
    let (_, out, errors) = ended(&output);
    assert!(!out.contains('\u{1b}') && !errors.contains('\u{1b}'), "{out:?} {errors:?}");
    let errors = failed(in_corpus(&["check", VALID, "--color=sometimes"]), 2);
    assert!(errors.contains("auto, always, never]"), "{errors}");
}
