#ifdef DRIVER
#include <cuda.h>
int driver(CUdeviceptr *memory) { return cuInit(0) || cuMemAlloc(memory, 16); }
#else
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *none) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "check_extension", NULL, -1, methods};
PyMODINIT_FUNC PyInit_check_extension(void) { return PyModule_Create(&module); }
#endif
