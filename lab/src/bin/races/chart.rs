//! Draws charts: a bar for each contestant, on a logarithmic scale.

use std::fmt::Write as _;

use crate::cases::Group;
use crate::report::digits;

const WIDTH: f64 = 760.0;
/// The x coordinate at which the bars of a chart begin.
const LEFT: f64 = 210.0;
/// The length of the longest bar of a chart.
const ROOM: f64 = 470.0;
/// The height of the row of one bar.
const ROW: f64 = 20.0;

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.head{font-weight:600}\
    .bar{fill:#8c959f}.own{fill:#0969da}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#6e7681}.own{fill:#2f81f7}}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the chart of one group.
pub(crate) fn bars(group: &Group) -> String {
    let each = group.races.iter().flat_map(|race| {
        race.times.iter().map(|times| times.median() / race.units).collect::<Vec<_>>()
    });
    let (least, most) =
        each.fold((f64::MAX, f64::MIN), |(least, most), each| (least.min(each), most.max(each)));
    // The logarithmic axis begins at half of the shortest time, so that the bar of that time is visible, too.
    let (low, high) = ((least / 2.0).log10(), most.log10());
    let length = |each: f64| (each.log10() - low) / (high - low).max(f64::EPSILON) * ROOM;

    let mut rows = String::new();
    let mut y = 6.0;
    for race in &group.races {
        y += ROW;
        _ = writeln!(rows, r#"<text class="head" x="8" y="{y}">{}</text>"#, escaped(&race.name));
        for (place, times) in race.times.iter().enumerate() {
            y += ROW;
            let each = times.median() / race.units;
            let (class, width) = (if place == 0 { "own" } else { "bar" }, length(each));
            _ = writeln!(
                rows,
                r#"<text x="{}" y="{y}" text-anchor="end">{}</text><rect class="{class}" x="{LEFT}" y="{}" width="{width:.1}" height="13" rx="2"/><text x="{:.1}" y="{y}">{}</text>"#,
                LEFT - 8.0,
                escaped(&times.name),
                y - 11.0,
                LEFT + width + 6.0,
                digits(each),
            );
        }
        y += 6.0;
    }
    let height = y + ROW;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{title}: {measure} per {unit}\">\n<style>{STYLE}</style>\n{rows}\
         <text x=\"{LEFT}\" y=\"{}\">{measure} per {unit}, logarithmic: shorter is better</text>\n</svg>\n",
        height - 6.0,
        title = escaped(&group.title),
        measure = group.measure,
        unit = group.unit,
    )
}
