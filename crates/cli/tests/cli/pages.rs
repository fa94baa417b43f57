//! Tests of `zten completions` and `zten man`.

use std::fs;

use crate::{ended, failed, in_corpus, succeeded_text, zten};

pub(crate) const COMMANDS: [&str; 13] = [
    "check",
    "ls",
    "stat",
    "cat",
    "hash",
    "diff",
    "convert",
    "edit",
    "patch",
    "explain",
    "sandbox",
    "completions",
    "man",
];

/// Checks that the help lists the subcommands of [`COMMANDS`] in this order, then `help`, and no others.
#[test]
fn these_are_the_commands() {
    let help = succeeded_text(zten(["--help"]));
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    // Continuation lines are indented further.
    let lines = listed.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter(|line| !line.starts_with(' '));
    let names: Vec<_> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, [&COMMANDS[..], &["help"]].concat());
}

/// The page of the command names each option of each command that reads files, except `--help` and `--color`.
#[test]
fn the_page_names_every_option() {
    let page = fs::read_to_string(crate::corpus_folder().join("../docs/command.md")).unwrap();
    let mut options = 0;
    for command in &COMMANDS[..9] {
        let help = succeeded_text(zten([*command, "--help"]));
        for word in help.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
            let end =
                word.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(word.len());
            let option = &word[..end];
            if !["", "help", "color"].contains(&option) {
                assert!(page.contains(&format!("--{option}")), "{command} --{option}");
                options += 1;
            }
        }
    }
    assert!(options > 100, "{options}");
}

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = succeeded_text(zten(["completions", shell]));
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        for option in ["manifest-only", "slice", "require-sandbox", "color"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
        // These arguments are only used between processes of the command, so the help does not list them.
        for hidden in ["worker", "fetch", "trial"] {
            assert!(!script.contains(hidden), "{shell}: {hidden}");
        }
    }
    let output = in_corpus(&["completions", "tcsh"]);
    assert_eq!((output.status.code(), ended(&output).1), (Some(2), ""));
}

#[test]
fn manual_pages() {
    let page = succeeded_text(zten(["man"]));
    assert!(page.contains(".TH zten 1"), "{page}");
    for command in COMMANDS {
        assert!(page.contains(&format!("zten\\-{command}(1)")), "{command}");
    }
    let folder = tempfile::tempdir().unwrap();
    succeeded_text(zten(["man".as_ref(), folder.path().as_os_str()]));
    let mut pages: Vec<_> = fs::read_dir(&folder).unwrap().map(Result::unwrap).collect();
    pages.sort_by_key(fs::DirEntry::file_name);
    let names: Vec<_> = pages.iter().map(|page| page.file_name().into_string().unwrap()).collect();
    let mut wanted: Vec<_> = COMMANDS.iter().map(|name| format!("zten-{name}.1")).collect();
    let patch = ["apply", "make", "show", "verify"].map(|name| format!("zten-patch-{name}.1"));
    wanted.extend(patch);
    wanted.push("zten.1".to_owned());
    wanted.sort();
    assert_eq!(names, wanted);
    let check = fs::read_to_string(folder.path().join("zten-check.1")).unwrap();
    assert!(check.contains("manifest\\-only") && !check.contains("trial"), "{check}");
    let missing = folder.path().join("missing");
    let errors = failed(zten(["man".as_ref(), missing.as_os_str()]), 2);
    assert!(errors.contains("missing: "), "{errors}");
}

/// Checks that the help of `ls`, `stat` and `cat` has examples of that subcommand on lines of at most 120 bytes, and explains the
/// exit status.
#[test]
fn help_has_examples() {
    for command in ["ls", "stat", "cat"] {
        let help = succeeded_text(zten([command, "--help"]));
        assert!(help.contains("\nExamples:\n  zten "), "{help}");
        assert!(help.contains("\nExit status:\n  0  "), "{help}");
        let lines = help.split("Examples:\n").nth(1).unwrap().lines();
        for line in lines.take_while(|line| !line.is_empty()) {
            assert!(line.starts_with(&format!("  zten {command} ")) && line.len() <= 120, "{line}");
        }
    }
}
