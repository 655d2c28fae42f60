__kernel void fine(__global float *x) { x[get_global_id(0)] = 1; }

__kernel void broken(__global float *x)
{
    x[get_global_id(0)] = undeclared * 2;
}
