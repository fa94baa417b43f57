//! Colors of the output, which are used on a terminal or if `--color` asks for them.

use std::fmt::{self, Display};
use std::io;
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::{Deserialize, Serialize};
use zten::finding::Verdict;

use crate::args::Color;

/// The streams that get colors. They are decided once at the start, because a confined process cannot ask whether a stream is a
/// terminal.
static STREAMS: OnceLock<Streams> = OnceLock::new();

/// The streams that get colors.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Streams {
    pub(crate) output: bool,
    pub(crate) errors: bool,
}

/// Decides which streams get colors, from the option `color`, the terminals and the environment.
pub(crate) fn decide(color: Color) {
    let is_auto = |choice| choice != ColorChoice::Never;
    let auto = || Streams {
        output: is_auto(AutoStream::choice(&io::stdout())),
        errors: is_auto(AutoStream::choice(&io::stderr())),
    };
    STREAMS.get_or_init(|| match color {
        Color::Auto => auto(),
        Color::Always => Streams { output: true, errors: true },
        Color::Never => Streams { output: false, errors: false },
    });
}

/// Sets the streams that get colors in a worker, as the broker has decided.
#[cfg(target_os = "linux")]
pub(crate) fn set(streams: Streams) {
    let _ = STREAMS.set(streams);
}

/// Returns which streams get colors.
pub(crate) fn streams() -> Streams {
    STREAMS.get().copied().unwrap_or(Streams { output: false, errors: false })
}

/// The text styles of a stream: colors, or no styles for a stream without colors.
#[derive(Clone, Copy)]
pub(crate) struct Palette(bool);

impl Palette {
    /// Returns the styles of standard output.
    pub(crate) fn output() -> Self {
        Self(streams().output)
    }

    /// Returns the styles of standard error.
    pub(crate) fn errors() -> Self {
        Self(streams().errors)
    }

    fn style(self, style: Style) -> Style {
        if self.0 { style } else { Style::new() }
    }

    /// Returns the style of a path.
    pub(crate) fn path(self) -> Style {
        self.style(Style::new().bold())
    }

    /// Returns the style of a verdict, and of the id of the rule that decided it.
    pub(crate) fn verdict(self, verdict: Verdict) -> Style {
        let color = match verdict {
            Verdict::Valid | Verdict::ManifestValid | Verdict::Other => AnsiColor::Green,
            Verdict::Invalid | Verdict::Error => AnsiColor::Red,
            Verdict::Unsupported | Verdict::Limit | Verdict::Tolerated => AnsiColor::Yellow,
        };
        self.style(color.on_default().bold())
    }
}

/// A text in a style.
pub(crate) struct Painted<T>(pub(crate) Style, pub(crate) T);

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, text) = self;
        write!(f, "{style}{text}{style:#}")
    }
}
