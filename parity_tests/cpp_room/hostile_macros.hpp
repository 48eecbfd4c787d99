// What Windows' headers and Unreal's define, after the C++ library as in an engine: no header of rigpact may trip over it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#define small char
#define near
#define far
#define hyper __int64
#define interface struct
#define pascal
#define cdecl
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define ERROR 0
#define TRUE 1
#define FALSE 0
#define DELETE 1
#define NO_ERROR 0
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define check(x) static_assert(sizeof(x), "")
#define verify(x) static_assert(sizeof(x), "")
#define ensure(x) (x)
#define PI 3.14f
#define TEXT(x) L##x
