//! Pictures of series, as SVG: white ground, axes with units, the paper's values in black, ours in colour.

use std::{error::Error, ops::Range};

use plotters::{
    coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter},
    element::DashedPathElement,
    prelude::*,
};

/// Height of a panel in pixels, and the widths of one that stands alone and of one among others.
const HEIGHT: u32 = 420;
const WIDTHS: [u32; 2] = [760, 560];
const FONT: &str = "sans-serif";
/// Colours that can be distinguished without red and green, and on white (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(110, 80, 40),
];
/// Greys for values that were computed, neither measured nor in the paper.
const GREYS: [RGBColor; 2] = [RGBColor(110, 110, 110), RGBColor(175, 175, 175)];

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Numbers lie evenly.
    Linear,
    /// Numbers lie by their logarithm to this base; powers of it are marked.
    Log(f64),
    /// Names instead of numbers: the first one stands at 0, the next at 1.
    Names(&'static [&'static str]),
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Text beside the axis, with its unit.
    pub label: &'static str,
    /// Scale of the axis.
    pub scale: Scale,
    /// First value.
    pub from: f64,
    /// Last value.
    pub to: f64,
}

impl Axis {
    /// Position of a value, before it is stretched to the picture.
    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Log(base) => value.log(base),
            Scale::Linear | Scale::Names(_) => value,
        }
    }

    /// The values that are marked.
    fn marks(&self) -> Vec<f64> {
        let step = match self.scale {
            Scale::Log(_) | Scale::Names(_) => 1.0,
            // 1, 2 or 5 of a power of ten, so that there are up to nine.
            Scale::Linear => {
                let mut steps = (-3..9).flat_map(|e| [1.0, 2.0, 5.0].map(|k| k * 10_f64.powi(e)));
                steps.find(|step| (self.to - self.from) / step <= 9.0).unwrap_or(1e9)
            }
        };
        let first = (self.place(self.from) / step - 1e-9).ceil() as i32;
        let last = (self.place(self.to) / step + 1e-9).floor() as i32;
        let mark = |k: i32| match self.scale {
            Scale::Log(base) => base.powi(k),
            Scale::Linear | Scale::Names(_) => f64::from(k) * step,
        };
        (first..=last).map(mark).collect()
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let (from, to) = (self.place(self.from), self.place(self.to));
        let share = (self.place(*value) - from) / (to - from);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let Scale::Names(names) = self.scale else { return number(*value) };
        // Names stand at whole numbers, the first at 0.
        let name = names.get(value.round() as usize).filter(|_| *value > -0.5);
        name.copied().unwrap_or_default().to_owned()
    }
}

/// A number as text, without needless zeros.
pub fn number(value: f64) -> String {
    let text = match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        // Small numbers have three digits as well.
        size if size > 0.0 => format!("{value:.*}", (2.0 - size.log10().floor()) as usize),
        _ => "0".to_owned(),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Look of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Measured here: a coloured line with points.
    Measured,
    /// Measured here: coloured bars.
    Bars,
    /// Computed, not measured: a grey line.
    Limit,
    /// A value of the paper: a black cross.
    Paper,
    /// Several values of the paper: a black dashed line.
    PaperLine,
}

/// A series: values of one kind.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Look of the series.
    pub look: Look,
    /// Values: x and y.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Makes a series.
    pub fn new(name: impl Into<String>, look: Look, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), look, points }
    }
}

/// Corner of a panel's legend, where no values are.
#[derive(Clone, Copy, Debug)]
pub enum Legend {
    /// The upper left corner.
    UpperLeft,
    /// The upper right corner.
    UpperRight,
    /// The lower right corner.
    LowerRight,
}

/// A panel: series that share their axes.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Title of the panel.
    pub title: &'static str,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Series that are drawn.
    pub series: Vec<Series>,
    /// Corner of the legend.
    pub legend: Legend,
}

/// Panels side by side.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Panels, from left to right.
    pub panels: Vec<Panel>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
type Drawn = Result<(), Box<dyn Error>>;

impl Picture {
    /// The picture as SVG: the same text for the same values.
    ///
    /// # Errors
    /// The text cannot be made.
    pub fn svg(&self) -> Result<String, String> {
        let mut text = String::new();
        self.draw(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Drawn {
        let count = self.panels.len() as u32;
        let size = (count * WIDTHS[usize::from(count > 1)], HEIGHT);
        let all = SVGBackend::with_string(text, size).into_drawing_area();
        all.fill(&WHITE)?;
        for (panel, area) in self.panels.iter().zip(all.split_evenly((1, self.panels.len()))) {
            panel.draw(&area)?;
        }
        all.present()?;
        Ok(())
    }
}

impl Panel {
    fn draw(&self, area: &Area<'_>) -> Drawn {
        let Self { x, y, .. } = self;
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, (FONT, 20))
            .margin(12)
            .margin_right(26)
            .x_label_area_size(52)
            .y_label_area_size(70)
            .build_cartesian_2d(x.clone(), y.clone())?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(x.label)
            .y_desc(y.label)
            .x_labels(x.marks().len())
            .y_labels(y.marks().len())
            .max_light_lines(0)
            .bold_line_style(BLACK.mix(0.12))
            .axis_desc_style((FONT, 17))
            .label_style((FONT, 15));
        if matches!(x.scale, Scale::Names(_)) {
            mesh.disable_x_mesh();
        }
        mesh.draw()?;

        // Computed series lie behind measured ones, and the paper's values in front of both.
        let mut series: Vec<_> = self.series.iter().collect();
        series.sort_by_key(|series| match series.look {
            Look::Limit => 0,
            Look::Measured | Look::Bars => 1,
            Look::Paper | Look::PaperLine => 2,
        });
        for (index, one) in series.iter().enumerate() {
            let alike = |others: &[&Series]| others.iter().filter(|s| s.look == one.look).count();
            let pen = Pen::new(one.look, alike(&series[..index]), alike(&series[index + 1..]));
            one.draw(&mut chart, pen, y.from)?;
        }
        let position = match self.legend {
            Legend::UpperLeft => SeriesLabelPosition::UpperLeft,
            Legend::UpperRight => SeriesLabelPosition::UpperRight,
            Legend::LowerRight => SeriesLabelPosition::LowerRight,
        };
        chart
            .configure_series_labels()
            .position(position)
            .label_font((FONT, 15))
            .legend_area_size(32)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        Ok(())
    }
}

/// Pen that a series is drawn with.
#[derive(Clone, Copy)]
struct Pen {
    line: ShapeStyle,
    fill: ShapeStyle,
    /// Radius of a point in pixels.
    size: u32,
    /// Length of a dash, and of the gap between dashes, in pixels.
    dash: (u32, u32),
}

impl Pen {
    /// The pen of a series with `before` series of its look before it, and `behind` behind it.
    fn new(look: Look, before: usize, behind: usize) -> Self {
        let colour = match look {
            Look::Measured | Look::Bars => COLOURS[before % COLOURS.len()],
            Look::Limit => GREYS[before % GREYS.len()],
            Look::Paper | Look::PaperLine => BLACK,
        };
        // Lines are wider where others with the same values can lie on top.
        let more = if look == Look::Measured { behind.min(4) as u32 } else { 0 };
        Self {
            line: colour.stroke_width(2 + more),
            fill: colour.filled(),
            size: 3 + more,
            dash: [(7, 4), (2, 4)][before % 2],
        }
    }
}

impl Series {
    /// Draws the series; bars begin at `floor`.
    fn draw(&self, chart: &mut Chart<'_, '_>, pen: Pen, floor: f64) -> Drawn {
        let Pen { line, fill, size, dash: (dash, space) } = pen;
        let points = self.points.iter().copied();
        // Each arm: what is drawn, its name, and how it looks in the legend, from that pixel on.
        match self.look {
            Look::Measured | Look::Limit => {
                chart
                    .draw_series(LineSeries::new(points.clone(), line))?
                    .label(&self.name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 26, y)], line));
                if self.look == Look::Measured {
                    chart.draw_series(points.map(|at| Circle::new(at, size, fill)))?;
                }
            }
            Look::Bars => {
                let bar = |(at, top)| Rectangle::new([(at - 0.25, floor), (at + 0.25, top)], fill);
                let sample = move |x, y| Rectangle::new([(x + 6, y - 5), (x + 20, y + 5)], fill);
                chart
                    .draw_series(points.map(bar))?
                    .label(&self.name)
                    .legend(move |(x, y)| sample(x, y));
            }
            Look::Paper => {
                chart
                    .draw_series(points.map(|at| Cross::new(at, 7, line)))?
                    .label(&self.name)
                    .legend(move |(x, y)| Cross::new((x + 13, y), 6, line));
            }
            Look::PaperLine => {
                let sample =
                    move |x, y| DashedPathElement::new([(x, y), (x + 26, y)], dash, space, line);
                chart
                    .draw_series(DashedLineSeries::new(points, dash, space, line))?
                    .label(&self.name)
                    .legend(move |(x, y)| sample(x, y));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;

    fn picture() -> Picture {
        let axis = |label, scale, from, to| Axis { label, scale, from, to };
        let panel = |x: Axis, first: Look| Panel {
            title: "a < b & c",
            x,
            y: axis("Gb/s", Scale::Log(10.0), 0.1, 100.0),
            series: vec![
                Series::new("ours <1>", first, vec![(1.0, 0.5), (2.0, 40.0)]),
                Series::new("limit", Look::Limit, vec![(1.0, 100.0), (2.0, 100.0)]),
                Series::new("paper", Look::Paper, vec![(1.0, 1.5)]),
                Series::new("paper's line", Look::PaperLine, vec![(1.0, 9.0), (2.0, 9.0)]),
            ],
            legend: Legend::LowerRight,
        };
        Picture {
            panels: vec![
                panel(axis("size, B", Scale::Log(2.0), 1.0, 8.0), Look::Measured),
                panel(axis("", Scale::Names(&["", "one", "two"]), 0.5, 2.5), Look::Bars),
            ],
        }
    }

    #[test]
    fn a_picture_is_well_formed_and_shows_every_series() {
        let svg = picture().svg().unwrap();
        let document = Document::parse(&svg).expect("well-formed");
        assert_eq!(document.root_element().tag_name().name(), "svg");
        let texts: Vec<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| node.text().unwrap_or_default().trim())
            .collect();
        for text in ["a < b & c", "ours <1>", "limit", "paper", "paper's line"] {
            assert_eq!(
                texts.iter().filter(|found| **found == text).count(),
                2,
                "{text}: {texts:?}"
            );
        }
        for text in ["Gb/s", "size, B", "4", "0.1", "one", "two"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        let filled = |tag: &str, colour: RGBColor| {
            let RGBColor(r, g, b) = colour;
            let fill = format!("#{r:02X}{g:02X}{b:02X}");
            let shown = |node: &roxmltree::Node<'_, '_>| {
                node.has_tag_name(tag) && node.attribute("fill") == Some(fill.as_str())
            };
            document.descendants().filter(shown).count()
        };
        // Two values each, and the bars in the legend.
        assert_eq!((filled("circle", COLOURS[0]), filled("rect", COLOURS[0])), (2, 3));
        assert_eq!(filled("rect", WHITE), 1 + 2, "the ground, and behind the legends");
    }

    #[test]
    fn the_same_values_are_the_same_text() {
        assert_eq!(picture().svg(), picture().svg());
    }

    #[test]
    fn marks_are_round_numbers() {
        let texts = |scale, from, to| {
            let axis = Axis { label: "", scale, from, to };
            axis.marks().iter().map(|mark| axis.format_ext(mark)).collect::<Vec<_>>()
        };
        assert_eq!(texts(Scale::Log(2.0), 1.0, 8.0), ["1", "2", "4", "8"]);
        assert_eq!(texts(Scale::Log(10.0), 0.05, 200.0), ["0.1", "1", "10", "100"]);
        assert_eq!(texts(Scale::Linear, 0.0, 80.0)[..3], ["0", "10", "20"]);
        assert_eq!(texts(Scale::Linear, 0.0, 4.2).last().unwrap(), "4");
        assert_eq!(texts(Scale::Names(&["a", "b"]), -0.5, 1.5), ["a", "b"]);
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.000_231, 0.137, 1.0, 3.74, 12.34, 97.25, 1234.5].map(number);
        assert_eq!(shown, ["0", "0.000231", "0.137", "1", "3.74", "12.3", "97.2", "1234"]);
    }
}
