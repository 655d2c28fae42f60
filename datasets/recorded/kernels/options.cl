// The price of European options by Black and Scholes: exp, log and sqrt.
float normal(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float tail = 0.39894228f * exp(-0.5f * d * d) * k *
        (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    return d > 0 ? 1.0f - tail : tail;
}

__kernel void options(const float rate, const float volatility, __global const float *spot, __global const float *strike,
                      __global const float *years, __global float *call)
{
    int i = get_global_id(0);
    float s = spot[i], k = strike[i], t = years[i];
    float spread = volatility * sqrt(t);
    float d1 = (log(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread;
    call[i] = s * normal(d1) - k * exp(-rate * t) * normal(d1 - spread);
}
