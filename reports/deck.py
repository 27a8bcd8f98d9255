"""The deck of a CX report: ten slides or so to speak to, with native charts and the full texts in the speaker's notes.

CPU-bound, 0.1 to 1 second, and done in a child process. The same content gives the same bytes.
"""

from io import BytesIO

from pptx import Presentation
from pptx.util import Inches

from reports import facts
from reports.adapters.pptx import Part, to_front
from reports.colors import HAIR, MUTED
from reports.content import SLOTS, Content, Factor, Finding, Section
from reports.deck_parts import (
    WASH,
    bars,
    block,
    narrative,
    picture,
    repacked,
    retitle,
    ring,
    title_words,
    words,
)
from reports.fitting import Frame, Paragraphs, best_size, height, parted
from reports.logo_images import on_plate
from reports.scores import band, severity_band
from reports.text import cut

_SIZES = (24, 20, 18, 16, 15, 14)
_MOST_PAGES = 4
_CHARTED = 12
_ROWS = 6
_BODY = (0.7, 1.75, 11.9, 4.9)
_TITLE_ONLY = 5


def render_deck(content: Content) -> bytes:
    """The bytes of the deck."""
    deck = _Deck(content)
    deck.write()
    made = BytesIO()
    deck.file.save(made)
    return repacked(made.getvalue(), content.generated_at)


def _points(box: tuple[float, float, float, float]) -> Frame:
    return Frame(box[2] * 72, box[3] * 72)


class _Deck:
    """One deck while it is made."""

    def __init__(self, content: Content) -> None:
        self.content = content
        self.colors = content.brand.colors
        self.file: Part = Presentation()
        self.file.slide_width, self.file.slide_height = Inches(13.333), Inches(7.5)
        properties = self.file.core_properties
        properties.title = cut(f"{content.company} – {content.title}", 250)
        properties.author = properties.last_modified_by = cut(content.brand.company, 250)
        properties.revision = max(1, content.revision)
        self.logo = None if content.brand.logo is None else on_plate(content.brand.logo)

    def write(self) -> None:
        self.cover()
        self.summary()
        self.standing()
        self.signals()
        self.priorities()
        self.strengths_and_gaps()
        self.findings()
        for name in ("recommendations", "next_steps"):
            self.section(self.content.section(name))
        for section in self.content.sections:
            if section.name not in SLOTS:
                self.section(section)
        self.section(self.content.section("methodology"))

    def slide(self, title: str, notes: str = "") -> Part:
        """A slide with its title, its foot and the speaker's notes."""
        slide = self.file.slides.add_slide(self.file.slide_layouts[_TITLE_ONLY])
        retitle(slide, cut(title, 70), self.colors.strong, self.colors.mark, 28 if len(title) <= 50 else 22)
        block(slide, 0.7, 6.95, 11.93, 0.01, HAIR)
        foot = cut(f"{self.content.company} · {self.content.title}", 100)
        words(slide, (0.7, 7.02, 10, 0.3), foot, 10, MUTED)
        number = str(len(self.file.slides))
        words(slide, (11.6, 7.02, 1.03, 0.3), number, 10, MUTED, align="end")
        self.notes(slide, notes)
        return slide

    def notes(self, slide: Part, text: str) -> None:
        if text:
            slide.notes_slide.notes_text_frame.text = cut(text, 30_000)

    def cover(self) -> None:
        content, colors = self.content, self.colors
        slide = self.file.slides.add_slide(self.file.slide_layouts[_TITLE_ONLY])
        block(slide, 0, 0, 13.333, 5.2, colors.primary)
        block(slide, 0, 5.2, 13.333, 0.07, colors.mark)
        if self.logo is not None:
            picture(slide, self.logo, (0.9, 0.7, 2.6, 0.8), content.brand.company)
        else:
            words(slide, (0.9, 0.75, 8, 0.5), cut(content.brand.company, 70), 18, colors.on_primary, bold=True)
        words(slide, (0.9, 1.95, 11.5, 0.4), cut(facts.kicker(content), 84), 15, colors.on_primary, bold=True)
        name = cut(content.company, 70) or content.title
        title = slide.shapes.title
        title.left, title.top, title.width, title.height = (Inches(value) for value in (0.9, 2.35, 8.9, 1.3))
        to_front(title)  # above the ground that was painted after it
        title_words(title, name, 48 if len(name) <= 22 else 36 if len(name) <= 40 else 26, colors.on_primary)
        headline = content.section("headline")
        if headline is not None:
            text = cut(" ".join(text for _, text in headline.paragraphs), 200)
            words(slide, (0.9, 3.75, 8.9, 1.2), text, 20 if len(text) <= 110 else 16, colors.on_primary)
        found = band(content.score)
        words(slide, (0.9, 5.65, 4, 0.3), "Overall customer experience", 13, MUTED)
        shown = "–" if content.score is None else str(content.score)
        words(slide, (0.9, 5.9, 1.4, 0.8), shown, 44, found.color, bold=True)
        words(slide, (2.2, 6.13, 4, 0.5), found.label, 22, found.color, bold=True)
        words(slide, (7, 5.7, 5.6, 0.6), cut(facts.prepared(content), 64), 13, MUTED)
        words(slide, (7, 6.3, 5.6, 0.3), f"{facts.day(content.generated_at)} · Revision {content.revision}", 13, MUTED)
        self.notes(slide, facts.measured_words(content))

    def summary(self) -> None:
        content = self.content
        section = content.section("executive_summary")
        title = "At a glance" if section is None else section.title
        slide = self.slide(title, _spoken(section) or facts.measured_words(content))
        box = (0.7, 1.75, 7.3, 4.95)
        if section is not None:
            self.text(slide, box, section.paragraphs)
        else:
            self.text(slide, box, [(False, facts.measured_words(content)), (False, facts.SCALE)])
        found = band(content.score)
        ring(slide, (8.9, 1.5, 3.4, 3.0), content.score, found.color)
        words(slide, (8.6, 4.42, 4.0, 0.4), found.label, 20, found.color, bold=True, align="middle")
        ranked = facts.measured(content)
        for index, (label, factor) in enumerate(
            (("Strongest signal", ranked[0]), ("Weakest signal", ranked[-1])) if ranked else ()
        ):
            self.card(slide, (8.6, 4.98 + 0.88 * index, 4.03, 0.78), label, factor)

    def card(self, slide: Part, box: tuple[float, float, float, float], label: str, factor: Factor) -> None:
        left, top, _, _ = box
        block(slide, *box, WASH, rounded=True)
        color = band(factor.score).color
        words(slide, (left + 0.2, top + 0.12, 0.8, 0.55), str(factor.score), 26, color, bold=True)
        words(slide, (left + 1.0, top + 0.11, 2.9, 0.25), label, 11, MUTED)
        words(slide, (left + 1.0, top + 0.35, 2.9, 0.3), cut(factor.name, 34), 14, bold=True)

    def standing(self) -> None:
        content = self.content
        if not content.benchmarks or content.score is None:
            return
        rows = [(cut(content.company, 36), float(content.score), self.colors.strong)]
        rows += [(cut(one.name, 36), one.score, "#a9b4c2") for one in content.benchmarks]
        rows = sorted(rows, key=lambda row: -row[1])[:_CHARTED]
        spoken = "\n".join(f"{name}: {score:.0f}" for name, score, _ in rows)
        slide = self.slide(f"Where {cut(content.company, 40)} stands", spoken)
        bars(slide, (0.7, 1.6, 11.9, min(5.2, 1.3 + 0.75 * len(rows))), rows, size=16 if len(rows) <= 6 else 12)

    def signals(self) -> None:
        ranked = facts.measured(self.content)
        if not ranked:
            return
        shown = ranked if len(ranked) <= _CHARTED else ranked[: _CHARTED // 2] + ranked[-_CHARTED // 2 :]
        title = "Score by signal" if shown == ranked else f"The best and the weakest of {len(ranked)} signals"
        rows = [(cut(one.name, 40), float(one.score or 0), band(one.score).color) for one in shown]
        spoken = "\n".join(f"{one.name}: {one.score}. {one.finding}" for one in shown)
        slide = self.slide(title, f"{facts.SCALE}\n\n{spoken}")
        bars(slide, (0.7, 1.6, 11.9, 5.2), rows, size=14 if len(rows) <= 9 else 12)

    def priorities(self) -> None:
        """The weakest signals with what is wrong there, which the findings say: what a meeting is about."""
        explained = {finding.title: finding.detail for finding in self.content.findings if finding.detail}
        weakest = [one for one in reversed(facts.measured(self.content)) if one.finding]
        weak = ([one for one in weakest if one.name in explained] or weakest)[:_ROWS]
        if not weak:
            return
        told = {one.name: " ".join(explained.get(one.name, one.finding).split()) for one in weak}
        slide = self.slide("What to look at first", "\n\n".join(f"{name}: {text}" for name, text in told.items()))
        top, step = 1.7, 5.1 / max(4, len(weak))
        for index, one in enumerate(weak):
            color, y = band(one.score).color, top + index * step
            words(slide, (0.7, y, 0.8, step), str(one.score), 24, color, bold=True)
            words(slide, (1.6, y + 0.06, 3.1, step - 0.1), cut(one.name, 52), 15, bold=True)
            box = (4.9, y + 0.05, 7.7, step - 0.16)
            self.text(slide, box, [(False, told[one.name])], sizes=(15, 14, 13, 12))
            if index:
                block(slide, 0.7, y - 0.09, 11.93, 0.01, HAIR)

    def strengths_and_gaps(self) -> None:
        pair = [(self.content.section("strengths"), "#12704a"), (self.content.section("gaps"), "#b42318")]
        both = [(section, color) for section, color in pair if section is not None]
        if len(both) < 2 or any(
            best_size(one.paragraphs, Frame(5.2 * 72, 4.2 * 72), _SIZES) is None for one, _ in both
        ):
            for section, _ in both:
                self.section(section)
            return
        notes = "\n\n".join(_spoken(section) for section, _ in both)
        slide = self.slide(
            " and ".join(section.title if i == 0 else section.title.lower() for i, (section, _) in enumerate(both)),
            notes,
        )
        size = min(best_size(one.paragraphs, Frame(5.2 * 72, 4.2 * 72), _SIZES) or 14 for one, _ in both)
        for index, (section, color) in enumerate(both):
            left = 0.7 + index * 6.1
            block(slide, left, 1.75, 5.83, 4.95, WASH, rounded=True)
            block(slide, left, 1.75, 5.83, 0.07, color)
            words(slide, (left + 0.3, 1.98, 5.2, 0.4), section.title, 18, color, bold=True)
            narrative(slide, (left + 0.3, 2.5, 5.2, 4.1), section.paragraphs, size, color)

    def findings(self) -> None:
        """Four on a slide at the most, spread so that no slide is left with a single one beside full ones."""
        findings = self.content.findings[: 4 * _MOST_PAGES]
        slides = -(-len(findings) // 4)
        for number in range(slides):
            shown = findings[len(findings) * number // slides : len(findings) * (number + 1) // slides]
            title = "Findings" if number == 0 else "Findings, continued"
            slide = self.slide(title, "\n\n".join(_told(one) for one in shown))
            for index, one in enumerate(shown):
                self.finding(slide, one, 1.75 + index * 1.26)

    def finding(self, slide: Part, finding: Finding, top: float) -> None:
        shown = severity_band(finding.severity)
        block(slide, 0.7, top, 11.93, 1.14, WASH)
        block(slide, 0.7, top, 0.07, 1.14, shown.color)
        title = cut(finding.title, 95)
        words(slide, (1.0, top + 0.1, 9.9, 0.35), title, 16 if len(title) <= 80 else 14, bold=True)
        if shown.label:
            words(slide, (11.0, top + 0.12, 1.43, 0.3), shown.label, 13, shown.color, bold=True, align="end")
        if finding.detail:
            self.text(
                slide, (1.0, top + 0.48, 11.4, 0.62), [(False, " ".join(finding.detail.split()))], sizes=(14, 13, 12)
            )

    def section(self, section: Section | None) -> None:
        """A slot on a slide of its own, or on several where it does not fit; the notes hold all of it."""
        if section is None:
            return
        frame = _points(_BODY)
        size = best_size(section.paragraphs, frame, _SIZES)
        pages: list[Paragraphs] = [section.paragraphs] if size else list(parted(section.paragraphs, _SIZES[-1], frame))
        for index, page in enumerate(pages[:_MOST_PAGES]):
            title = section.title if index == 0 else f"{cut(section.title, 50)}, continued"
            slide = self.slide(title, _spoken(section) if index == 0 else "")
            narrative(slide, _BODY, page, size or _SIZES[-1], self.colors.mark)
            if index == _MOST_PAGES - 1 and len(pages) > _MOST_PAGES:
                words(slide, (0.7, 6.66, 11.9, 0.28), "The whole text stands in the report.", 12, MUTED)

    def text(
        self,
        slide: Part,
        box: tuple[float, float, float, float],
        paragraphs: Paragraphs,
        sizes: tuple[int, ...] = _SIZES,
    ) -> None:
        """Paragraphs at the largest size that fits, cut short at the smallest: the notes hold the rest."""
        frame = _points(box)
        size = best_size(paragraphs, frame, sizes)
        if size is None:
            size = sizes[-1]
            paragraphs = _shortened(next(parted(paragraphs, size, frame)), size, frame)
        narrative(slide, box, paragraphs, size, self.colors.mark)


def _shortened(page: Paragraphs, size: float, frame: Frame) -> Paragraphs:
    """A page that says that it goes on."""
    *whole, (bullet, last) = page
    most = len(last)
    while most > 20 and height([*whole, (bullet, f"{last[:most]} …")], size, frame) > frame.height:
        most = most * 9 // 10
    return [*whole, (bullet, f"{last[:most].rstrip(' .,;')} …")]


def _spoken(section: Section | None) -> str:
    return "" if section is None else "\n\n".join(text for _, text in section.paragraphs)


def _told(finding: Finding) -> str:
    return f"{finding.title}\n{finding.detail}" if finding.detail else finding.title
