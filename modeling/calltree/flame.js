(function () {
  document.querySelectorAll('svg.rl-flame:not([data-on])').forEach(function (svg) {
    svg.setAttribute('data-on', '');
    var W = +svg.getAttribute('data-width'), up = svg.getAttribute('data-icicle') === null ? -1 : 1;
    var frames = Array.prototype.map.call(svg.querySelectorAll('g.f'), function (g) {
      var r = g.querySelector('rect'), about = g.querySelector('title').textContent.split('\n');
      return {g: g, r: r, t: g.querySelector('text'), x: +r.getAttribute('x'), w: +r.getAttribute('width'),
        d: up * r.getAttribute('y'), y: +r.getAttribute('y'), name: about[0], raw: about[0] + '\n' + about[1]};
    });
    var box = svg.closest ? svg.closest('.rl-flame-box') : null;
    function part(cls) { return box ? box.querySelector(cls) : svg.querySelector(cls); }
    function fit(f, w) {
      var cs = Array.from(f.name), room = Math.floor((w - 6) / 7.25);
      var text = room < 3 ? '' : cs.length <= room ? f.name : cs.slice(0, room - 1).join('') + '…';
      if (!text) { if (f.t) f.t.textContent = ''; return; }
      if (!f.t) {
        f.t = document.createElementNS('http://www.w3.org/2000/svg', 'text');
        f.g.appendChild(f.t);
      }
      f.t.setAttribute('x', +f.r.getAttribute('x') + 3);
      f.t.setAttribute('y', f.y + 12.5);
      f.t.textContent = text;
    }
    function zoom(to) {
      frames.forEach(function (f) {
        var inside = f.x >= to.x - 0.01 && f.x + f.w <= to.x + to.w + 0.01 && f.d >= to.d;
        var around = f.d < to.d && f.x <= to.x + 0.01 && f.x + f.w >= to.x + to.w - 0.01;
        f.g.style.display = inside || around ? '' : 'none';
        f.g.classList.toggle('up', around);
        if (!inside && !around) return;
        var x = around ? 0 : (f.x - to.x) / to.w * W, w = around ? W : f.w / to.w * W;
        f.r.setAttribute('x', x);
        f.r.setAttribute('width', w);
        fit(f, w);
      });
      var b = part('.rl-reset');
      if (b) b.style.visibility = to.w < W ? 'visible' : 'hidden';
    }
    var all = {x: 0, w: W, d: -Infinity};
    function search(text) {
      var hit = null, found = 0, width = 0, end = -1;
      try { hit = text ? new RegExp(text, 'i') : null; } catch (e) { hit = {test: function (s) { return s.indexOf(text) >= 0; }}; }
      var hits = frames.filter(function (f) {
        var on = hit !== null && hit.test(f.raw);
        f.g.classList.toggle('hit', on);
        f.g.classList.toggle('dim', hit !== null && !on);
        return on;
      });
      hits.sort(function (a, b) { return a.x - b.x || a.d - b.d; }).forEach(function (f) {
        found++;
        if (f.x + f.w > end + 0.01) { width += f.x + f.w - Math.max(f.x, end); end = f.x + f.w; }
      });
      var out = part('.rl-found');
      if (out) out.textContent = hit === null ? '' : found + ' frames, ' + (100 * width / W).toFixed(1) + ' % of the width';
    }
    svg.addEventListener('click', function (e) {
      var g = e.target.closest('g.f');
      if (g) zoom(frames.find(function (f) { return f.g === g; }));
      else if (!e.target.closest('.rl-search')) zoom(all);
    });
    var input = part('input.rl-search');
    if (input) {
      part('.rl-bar').hidden = false;
      input.addEventListener('input', function () { search(input.value); });
      part('.rl-reset').addEventListener('click', function () { zoom(all); });
    } else {
      var s = part('.rl-search');
      if (s) {
        s.style.visibility = 'visible';
        s.addEventListener('click', function () { search(prompt('Search (regular expression; empty for none)') || ''); });
      }
    }
  });
})();
