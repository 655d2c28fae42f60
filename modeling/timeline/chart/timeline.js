for (const root of document.querySelectorAll('[id="@ID@"]')) {
  if (root.dataset.ready) continue; // the same picture may stand on a page twice
  root.dataset.ready = '1';
  const canvas = root.querySelector('canvas'), tip = root.querySelector('.tip'), legend = root.querySelector('.legend');
  const lane = 24, foot = 34;
  let from = data.from, to = data.to, hit = [];
  const time = (ns, digits) => {
    const a = Math.abs(ns);
    for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]])
      if (a >= size) return +(ns / size).toPrecision(digits || 4) + ' ' + unit;
    return +(+ns).toPrecision(digits || 4) + ' ns';
  };
  const byLane = data.lanes.map(() => []);
  for (const b of data.bars) byLane[b[0]].push(b);
  for (const [name, fill, band] of data.legend) {
    const e = document.createElement('span'), s = document.createElement('span'), [low, high] = data.bands[band], c = data.fills[fill];
    e.style.cssText = 'display:inline-block;margin-right:1.2em;white-space:nowrap';
    // The swatch stands where the bar does within its lane.
    s.style.cssText = 'display:inline-block;width:12px;height:14px;margin-right:.4em;vertical-align:middle;background:linear-gradient(to top,transparent ' +
      100 * low + '%,' + c + ' ' + 100 * low + '% ' + 100 * high + '%,transparent ' + 100 * high + '%)';
    e.append(s, name.length > 60 ? name.slice(0, 36) + '…' + name.slice(-20) : name);
    legend.append(e);
  }
  let left = 0;
  function draw() {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = lane * data.lanes.length + foot;
    if (!width) return;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const g = canvas.getContext('2d'), ink = getComputedStyle(root).color;
    g.scale(ratio, ratio);
    g.font = '11px system-ui,sans-serif';
    left = Math.min(width / 3, 8 + Math.max(...data.lanes.map(t => g.measureText(t).width)));
    const x = t => left + (t - from) / (to - from) * (width - left - 8);
    g.fillStyle = g.strokeStyle = ink;
    g.textBaseline = 'middle';
    const span = to - from;
    const size = span >= 2e9 ? ['s', 1e9] : span >= 2e6 ? ['ms', 1e6] : span >= 2e3 ? ['µs', 1e3] : ['ns', 1];
    let step = Math.pow(10, Math.floor(Math.log10(span / 4)));
    for (const m of [5, 2]) if (span / (step * m) >= 4) { step *= m; break; }
    g.textAlign = 'center';
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      g.globalAlpha = .25;
      g.fillRect(x(t), 0, 1, lane * data.lanes.length);
      g.globalAlpha = 1;
      g.fillText(+(t / size[1]).toPrecision(9), x(t), height - foot + 9);
    }
    g.fillText('Time from the start of the work of devices (' + size[0] + ')', left + (width - left) / 2, height - 8);
    hit = [];
    byLane.forEach((bars, i) => {
      const top = i * lane;
      g.globalAlpha = 1;
      g.fillStyle = ink;
      g.textAlign = 'right';
      g.fillText(data.lanes[i], left - 5, top + lane / 2, left - 6);
      if (data.marks.includes(i)) { g.globalAlpha = .5; g.fillRect(0, top, width, 1); }
      for (const b of bars) {
        if (b[1] > to || b[1] + b[2] < from) continue;
        const x0 = Math.max(left, x(b[1])), x1 = Math.min(width - 8, x(b[1] + b[2]));
        if (x1 < left) continue;
        const [low, high] = data.bands[b[5]], w = Math.max(.7, x1 - x0);
        g.globalAlpha = b[6] > 1 ? .35 + .65 * Math.min(1, b[7] / Math.max(1, b[2])) : 1;
        g.fillStyle = data.fills[b[4]];
        g.fillRect(x0, top + lane * (1 - high), w, lane * (high - low));
        if (w > 3) { g.globalAlpha = .6; g.fillStyle = ink; g.fillRect(x0 + w - .5, top + lane * (1 - high), .5, lane * (high - low)); }
        hit.push([x0 - 1, x0 + w + 1, top + lane * (1 - high), top + lane * (1 - low), b]);
      }
    });
    g.globalAlpha = 1;
  }
  function zoom(at, factor) {
    const span = Math.min(data.to - data.from, Math.max(20, (to - from) * factor)), share = (at - from) / (to - from);
    from = Math.max(data.from, Math.min(data.to - span, at - share * span));
    to = from + span;
    draw();
  }
  function move(by) {
    const span = to - from;
    from = Math.max(data.from, Math.min(data.to - span, from + by));
    to = from + span;
    draw();
  }
  const inner = () => canvas.clientWidth - left - 8;
  canvas.addEventListener('wheel', e => {
    e.preventDefault();
    const r = canvas.getBoundingClientRect();
    zoom(from + Math.max(0, e.clientX - r.left - left) / inner() * (to - from), e.deltaY > 0 ? 1.25 : .8);
  }, { passive: false });
  let drag = null;
  canvas.addEventListener('pointerdown', e => { drag = e.clientX; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointerup', () => { drag = null; });
  canvas.addEventListener('dblclick', () => { from = data.from; to = data.to; draw(); });
  canvas.addEventListener('keydown', e => {
    const k = { '+': .8, '=': .8, '-': 1.25 }[e.key], m = { ArrowLeft: -.1, ArrowRight: .1 }[e.key];
    if (k) zoom((from + to) / 2, k);
    else if (m) move(m * (to - from));
    else if (e.key === '0') { from = data.from; to = data.to; draw(); }
    else return;
    e.preventDefault();
  });
  canvas.addEventListener('pointermove', e => {
    const r = canvas.getBoundingClientRect(), px = e.clientX - r.left, py = e.clientY - r.top;
    if (drag !== null) {
      move((drag - e.clientX) / inner() * (to - from));
      drag = e.clientX;
    }
    let best = null;
    for (const h of hit) if (px >= h[0] && px <= h[1] && py >= h[2] && py <= h[3] && (!best || h[1] - h[0] < best[1] - best[0])) best = h;
    tip.style.display = best ? 'block' : 'none';
    if (!best) return;
    const b = best[4];
    tip.textContent = (b[6] > 1 ? b[6] + ' launches, the longest: ' : '') + data.names[b[3]] + ' · ' + time(b[2]) +
      (b[6] > 1 ? ', busy for ' + time(b[7]) : '') + ' · at ' + time(b[1], 7) + (b[8] ? ' · launch ' + b[8] : '');
    tip.style.left = Math.max(0, Math.min(px + 12, canvas.clientWidth - tip.offsetWidth - 4)) + 'px';
    tip.style.top = py + 16 + 'px';
  });
  canvas.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
  if (window.ResizeObserver) new ResizeObserver(draw).observe(canvas);
  if (window.matchMedia) matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
}
