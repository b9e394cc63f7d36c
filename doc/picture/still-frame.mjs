// Gives an animation of svg-term a still frame: node still-frame.mjs CAST SVG >PICTURE.
// Viewers and printers that do not run CSS animations would show its first frame, an empty terminal.
// Here they show the screen just before the recording clears it for the first time, and the
// animation starts there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const [cast, svg] = process.argv.slice(2).map((name) => readFileSync(name, "utf8"));

const [, ...lines] = cast.trimEnd().split("\n");
const events = lines.map((line) => JSON.parse(line));
const clear = events.findIndex(([, , text]) => text.includes("\x1b[2J"));
assert.ok(clear > 0, "the recording clears the screen");

// A keyframe holds until the next one, so the still frame is the last that begins before the clearing.
const [time] = events[clear];
const duration = Number(/animation-duration:([\d.]+)s/.exec(svg)[1]);
const frames = [...svg.matchAll(/(?<=[{}])([\d.]+)%\{transform:translateX\((-[\d.]+)px\)\}/g)];
const before = frames.filter(([, percent]) => (percent / 100) * duration < time - 0.005);
const [, percent, offset] = before.at(-1);

// An animation overrides the attribute `transform`; without one the attribute applies.
const group = /<g style="(animation-duration:[^"]*)">/;
assert.match(svg, group);
const start = ((percent / 100) * duration).toFixed(3);
process.stdout.write(
  svg
    .replace(group, `<g class="moving" transform="translate(${offset})" style="$1;animation-delay:-${start}s">`)
    .replace("</style>", "@media print,(prefers-reduced-motion){.moving{animation:none!important}}</style>"),
);
